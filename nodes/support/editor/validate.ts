import { variableIn } from '../../../lib/text';
import { isUsableFolder } from '../rules';

/** `${NAME}` as the whole value: Node-RED puts the environment variable in its place at run time. */
export function isVariable(value: unknown): boolean {
  return variableIn(value) !== undefined;
}

/** What no check of the dialog can judge: a variable, or nothing at all, as in a flow of an older version. */
export function isOpen(value: unknown): boolean {
  return value === undefined || isVariable(value);
}

/** The text in a field or property, without outer white space. */
export function trimmed(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
}

/** True, or the reason: a number from `least` to `most`, or what cannot be judged. */
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

/** True, or the reason: a whole number from `least` to `most`, or what cannot be judged. */
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

/** True, or the reason: nothing, or the base of an address that others see in front of a path. */
export function publicUrlOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  if (text === '' || isVariable(text)) return true;
  return /^https?:\/\/[^\s?#]+$/.test(text) || node._('shared.errors.publicUrl');
}

/** True, or the reason: nothing, or a folder that means what it says. */
export function folderOrReason(node: EditorNode, value: unknown): boolean | string {
  return isVariable(value) || isUsableFolder(trimmed(value)) || node._('shared.errors.folder');
}

/** True, or the reason: the seconds that a message may take. */
export function deadlineOrReason(node: EditorNode, value: unknown): boolean | string {
  return numberOrReason(node, value, 1);
}

/** True, or the reason: a typed input that has a camera in it, or a place where one may be found. */
export function cameraOrReason(node: EditorNode, value: unknown): boolean | string {
  return isOpen(value) || trimmed(value) !== '' || node._('shared.errors.camera');
}

/**
 * A check as Node-RED wants it: only of a function that declares two parameters does it take a text for the reason why a
 * value will not do. Of any other a text counts as "valid".
 */
export function reasoned(
  check: (node: EditorNode, value: unknown) => boolean | string,
): (this: EditorNode, value: string, options: object) => boolean | string {
  return function validate(value, _options) {
    return check(this, value);
  };
}
