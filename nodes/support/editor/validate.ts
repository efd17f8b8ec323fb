import { variableIn } from '../../../lib/text';
import { isUsableFolder } from '../rules';

/** `${NAME}` as the whole value: Node-RED replaces it by the environment variable at run time. */
export function isVariable(value: unknown): boolean {
  return variableIn(value) !== undefined;
}

/** True for values that the dialog cannot judge: a variable, or an absent property as in a flow of an older version. */
export function isOpen(value: unknown): boolean {
  return value === undefined || isVariable(value);
}

/** Text of a field or property without outer white space. */
export function trimmed(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
}

/** True, or the reason. Valid: a number from `least` to `most`, or a value that cannot be judged. */
export function numberOrReason(
  node: EditorNode,
  value: unknown,
  least: number,
  most = Infinity,
): boolean | string {
  if (isOpen(value)) return true;
  const text = trimmed(value);
  const number = Number(text);
  if (text !== '' && Number.isFinite(number) && number >= least && number <= most) return true;
  return most === Infinity
    ? node._('shared.errors.number', { least })
    : node._('shared.errors.numberBetween', { least, most });
}

/** True, or the reason. Valid: a whole number from `least` to `most`, or a value that cannot be judged. */
export function wholeOrReason(
  node: EditorNode,
  value: unknown,
  least: number,
  most: number,
): boolean | string {
  if (isOpen(value)) return true;
  const text = trimmed(value);
  const number = Number(text);
  const isUsable = text !== '' && Number.isInteger(number) && number >= least && number <= most;
  return isUsable || node._('shared.errors.wholeBetween', { least, most });
}

/** True, or the reason. Valid: empty, or a public base URL to put in front of a path. */
export function publicUrlOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  if (text === '' || isVariable(text)) return true;
  return /^https?:\/\/[^\s?#]+$/.test(text) || node._('shared.errors.publicUrl');
}

/** True, or the reason. Valid: empty, or a usable folder. */
export function folderOrReason(node: EditorNode, value: unknown): boolean | string {
  return isVariable(value) || isUsableFolder(trimmed(value)) || node._('shared.errors.folder');
}

/** True, or the reason: deadline of a message in seconds. */
export function deadlineOrReason(node: EditorNode, value: unknown): boolean | string {
  return numberOrReason(node, value, 1);
}

/** True, or the reason. Valid: a typed input with a camera, or with a place that may contain one. */
export function cameraOrReason(node: EditorNode, value: unknown): boolean | string {
  return isOpen(value) || trimmed(value) !== '' || node._('shared.errors.camera');
}

/**
 * Wraps a check for Node-RED, which accepts a text as a reason only from a function with two declared parameters. From any
 * other a text counts as "valid".
 */
export function reasoned(
  check: (node: EditorNode, value: unknown) => boolean | string,
): (this: EditorNode, value: string, options: object) => boolean | string {
  return function validate(value, _options) {
    return check(this, value);
  };
}

/** A check for Node-RED. Valid: a number from `least` to `most`, or a value that cannot be judged. */
export function inRange(least: number, most = Infinity): ReturnType<typeof reasoned> {
  return reasoned((node, value) => numberOrReason(node, value, least, most));
}

/** A check for Node-RED. Valid: a text that passes the test, or a value that cannot be judged. */
export function passing(test: (text: string) => boolean, reason: string): ReturnType<typeof reasoned> {
  return reasoned((node, value) => isOpen(value) || test(trimmed(value)) || node._(reason));
}

/** The same for a list with commas, which may be empty. */
export function listPassing(test: (part: string) => boolean, reason: string): ReturnType<typeof reasoned> {
  return passing((text) => text === '' || text.split(',').every((part) => test(part.trim())), reason);
}
