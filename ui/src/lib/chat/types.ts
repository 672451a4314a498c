// Short names for the types of the gateway that the chat works with.
import type { components } from '../api/schema';

type Schemas = components['schemas'];

export type Agent = Schemas['Agent'];
export type Approval = Schemas['ToolApproval'];
export type Attachment = Schemas['Attachment'];
export type Event = Schemas['Event'];
export type Explanation = Schemas['EngineExplanation'];
export type Media = Schemas['LlmMedia'];
export type Message = Schemas['LlmMessage'];
export type Outcome = Schemas['ToolOutcome'];
export type Part = Schemas['LlmPart'];
export type Pick = Schemas['ToolPick'];
export type Pos = Schemas['SourcePos'];
export type Principal = Schemas['AuthPrincipal'];
export type Problem = Schemas['Problem'];
export type Prompt = Schemas['Prompt'];
export type PromptSection = Schemas['PromptSection'];
export type Refusal = Schemas['ToolRefusal'];
export type Removal = Schemas['ToolRemoval'];
export type Round = Schemas['Round'];
export type Run = Schemas['Run'];
export type Session = Schemas['Session'];
export type SessionChanged = Schemas['SessionChanged'];
export type SessionDetail = Schemas['SessionDetail'];
export type Sessions = Schemas['Sessions'];
export type Surface = Schemas['Surface'];
export type Target = Schemas['LlmTarget'];
export type Tool = Schemas['Tool'];
export type Turn = Schemas['Turn'];
export type Turns = Schemas['Turns'];
export type Usage = Schemas['LlmUsage'];
export type WorkspaceFile = Schemas['File'];

export type Status = Turn['status'];
export type OutcomeStatus = Outcome['status'];
