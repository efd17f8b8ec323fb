import { WORDS_TOPIC, wordsToText, type Say, type SentWords, type Words } from '../support/status-words';

/** By node, what its status says. */
const sent = new Map<string, SentWords>();

/**
 * Says the statuses of our nodes in the language of the editor, with its clock. The status comes from Node-RED, in its language;
 * what it is made of comes beside it, before or after.
 */
export function sayStatuses(): void {
  RED.comms.subscribe(`${WORDS_TOPIC}/#`, (topic, told) => {
    const id = idIn(topic);
    if (isWords(told)) sent.set(id, told);
    else sent.delete(id);
    say(id);
  });
  // Node-RED shows its text first, whichever of the two is told first.
  RED.comms.subscribe('status/#', (topic) => queueMicrotask(() => say(idIn(topic))));
}

function idIn(topic: string): string {
  return topic.slice(topic.indexOf('/') + 1);
}

function isWords(told: object): told is SentWords {
  return 'words' in told;
}

/** Only in the place of the text that it says: any other is of a status that came since. */
function say(id: string): void {
  const node = RED.nodes.node(id);
  const words = sent.get(id);
  if (!node || words === undefined || node.status?.text !== words.text) return;
  node.status.text = ownWords(words.words, (key, values) => node._(key, values));
  Object.assign(node, { dirty: true, dirtyStatus: true });
  RED.view.redrawStatus(node);
}

/** In the language of the editor, with its clock. */
export function ownWords(words: Words, say: Say): string {
  return wordsToText(words, say, clockTime);
}

/** As people of the editor's language write it. */
function clockTime(time: Date): string {
  const language = localStorage.getItem('editor-language') ?? navigator.language;
  return time.toLocaleTimeString(language);
}
