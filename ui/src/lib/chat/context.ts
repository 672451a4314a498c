import { createContext } from 'svelte';
import type { Conversation } from './conversation.svelte';

// The conversation that a component is drawn in.
export const [conversationHere, setConversation] = createContext<() => Conversation>();
