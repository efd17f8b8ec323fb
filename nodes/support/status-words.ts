import type { NodeAPI, NodeStatus } from 'node-red';

/** A text of the catalogue with its values, for whoever says it in a language of their own. */
export interface Words {
  key: string;
  values?: Readonly<Record<string, WordValue>>;
}

/** A moment, in milliseconds since 1970, is told by the clock of whoever reads it. */
export type WordValue = string | number | { moment: number } | Words;

/** What the editor is sent beside a status whose text has values. */
export interface SentWords {
  /** The text that the status has, in the language of Node-RED. */
  text: string;
  words: Words;
}

/** Topic of these, before the id of the node. */
export const WORDS_TOPIC = 'rvm-status';

/** Stands in no message: a Status node copies what can be listed. */
const WORDS = Symbol('words of a status');

/** A status with this text in the language of Node-RED, which the editor says in its own. */
export function withWords(RED: NodeAPI, look: NodeStatus, words: Words): NodeStatus {
  return Object.defineProperty({ ...look, text: said(RED, words) }, WORDS, { value: words });
}

/** What the text of a status is made of; undefined where it is sent as its key, or is a text of somebody else. */
export function wordsIn(status: NodeStatus): Words | undefined {
  return (status as { [WORDS]?: Words })[WORDS];
}

/** The same, of a text that is sent as its key as well. */
export function wordsOf(status: NodeStatus): Words {
  return wordsIn(status) ?? { key: status.text ?? '' };
}

/** A text by its key, with its values in it. */
export type Say = (key: string, values: Record<string, string | number>) => string;

/** @param clock the time of day */
export function wordsToText({ key, values = {} }: Words, say: Say, clock: (time: Date) => string): string {
  const texts = Object.entries(values).map(([name, value]): [string, string | number] => {
    if (typeof value !== 'object') return [name, value];
    return [name, 'moment' in value ? clock(new Date(value.moment)) : wordsToText(value, say, clock)];
  });
  return say(key, Object.fromEntries(texts));
}

/** In the language of Node-RED. */
export function said(RED: NodeAPI, words: Words): string {
  return wordsToText(words, (key, values) => RED._(key, values), clockTime);
}

/** Local time of day. */
export function clockTime(time: Date): string {
  return time.toLocaleTimeString(undefined, { hour12: false });
}
