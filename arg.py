import sys,re; sys.path.insert(0,'/tmp/b2/d')
from lib import *; from fake import Fake
F=Fake(); h=Home(F.config()); h.run('tools','list')
def t(raw,tool='file_write',show=420):
    F.script=[[(tool,raw)],'ok']; n=len(F.reqs); p=h.run('run','go')
    r=F.results() if len(F.reqs)>n+1 else ['<none>']
    a=F.reqs[-1][1]['messages'][-2] if len(F.reqs)>n+1 else {}
    print('##',tool,repr(raw[:75]),'rc',p.returncode,'|',repr(r[-1][:show]), '' if not a.get('tool_calls') else 'sent back: '+a['tool_calls'][0]['function']['arguments'][:90])
for raw in ['{}','{"path":"x","content":"y",}','{"path":"x","content":"y"','','null','[]','"x"','{"path":"x" "content":"y"}',"{'path':'x','content':'y'}",'{"path":"x","content":"y"} trailing','{"path":"x","path":"z","content":"y"}','{"path":"x","content":null}','{"arguments":{"path":"x","content":"y"}}','"{\\"path\\":\\"x\\",\\"content\\":\\"y\\"}"','\ufeff{"path":"x","content":"bom"}','{"path":"x","content":"\x01"}','{"path":"x","content":"tab\tinside\nnl"}','// c\n{"path":"x","content":"y"}','{"path":"x","content":"y"}{"path":"x","content":"y"}', '{"path":"x","content":'+'['*20000+']'*20000+'}', 'NaN','{path:"x",content:"y"}','```json\n{"path":"x","content":"y"}\n```','{"path":"x","content":"a\\qb"}','{"path":"x","content":"\\ud83d"}','{"path":"x","content":"y","attach":"yes"}','{"path":"x","content":"y","attach":"True"}','{"path":"x","content":True}',' ','{"path":"x\\u0000","content":"y"}','{"file":"x","text":"y"}']: t(raw)
for raw in ['{"path":"SOUL.md","from":"2","to":"3"}','{"path":"SOUL.md","from":2.0}','{"path":"SOUL.md","from":1e1}','{"path":"SOUL.md","from":1e30}','{"path":"SOUL.md","from":"two"}','{"path":"SOUL.md","from":true}','{"path":"SOUL.md","from":""}','{"path":"SOUL.md","offset":2}','{"path":"SOUL.md","limit":2,"offset":3}','{"path":["SOUL.md"]}','{"path":"SOUL.md","line_numbers":"true"}','{"filename":"SOUL.md"}']: t(raw,'file_read',show=330)
for raw in ['{"ref":"x","columns":"a"}','{"ref":"x","columns":"[\\"a\\"]"}','{"ref":"x","context":"3"}','{"ref":"x","mode":"Path"}','{"reference":"x"}']: t(raw,'read_output',show=330)
os.makedirs(h.ws+'/o'); open(h.ws+'/o/x\u202egpj.exe','w').write('1'); open((h.ws+'/o/').encode()+b'bad\xff.txt','w').write('1')
for raw in ['{"path":"o"}']: t(raw,'file_list')
for raw in ['{"path":"o/x⟦U+202E⟧gpj.exe"}','{"path":"o/bad⟦xFF⟧.txt"}','{"path":"o/x\\u202egpj.exe"}','{"path":"o/xgpj.exe"}','{"path":"o/bad.txt"}']: t(raw,'file_read')
h.rm()
