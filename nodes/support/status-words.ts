import type { NodeAPI, NodeStatus } from 'node-red';

/** A text key with its values, for translation by the receiver. */
export interface Words {
  key: string;
  values?: Readonly<Record<string, WordValue>>;
}

/** A moment, in milliseconds since 1970, is formatted in the time zone of the reader. */
export type WordValue = string | number | { moment: number } | Words;

/** Sent to the editor in addition to a status whose text has values. */
export interface SentWords {
  /** Text of the status in the language of Node-RED. */
  text: string;
  words: Words;
}

/** Topic prefix, followed by the id of the node. */
export const WORDS_TOPIC = 'rvm-status';

/** Key of a non-enumerable property: a Status node copies only enumerable ones, so it enters no message. */
const WORDS = Symbol('words of a status');

/** A status with its text in the language of Node-RED, and key and values for the editor's own language. */
export function withWords(RED: NodeAPI, look: NodeStatus, words: Words): NodeStatus {
  return Object.defineProperty({ ...look, text: said(RED, words) }, WORDS, { value: words });
}

/** Key and values of a status text; undefined where the text itself is a key, or comes from another package. */
export function wordsIn(status: NodeStatus): Words | undefined {
  return (status as { [WORDS]?: Words })[WORDS];
}

/** The same, also for a text that is a key itself. */
export function wordsOf(status: NodeStatus): Words {
  return wordsIn(status) ?? { key: status.text ?? '' };
}

/** Returns a text by its key, with its values inserted. */
export type Say = (key: string, values: Record<string, string | number>) => string;

/** @param clock formats the time of day */
export function wordsToText({ key, values = {} }: Words, say: Say, clock: (time: Date) => string): string {
  const texts = Object.entries(values).map(([name, value]): [string, string | number] => {
    if (typeof value !== 'object') return [name, value];
    return [name, 'moment' in value ? clock(new Date(value.moment)) : wordsToText(value, say, clock)];
  });
  return say(key, Object.fromEntries(texts));
}

/** Text in the language of Node-RED. */
export function said(RED: NodeAPI, words: Words): string {
  return wordsToText(words, (key, values) => RED._(key, values), clockTime);
}

/** Local time of day. */
export function clockTime(time: Date): string {
  return time.toLocaleTimeString(undefined, { hour12: false });
}
