// The chat's words are shown as those of the whole page.
export { sentence, visible } from '../visible';
