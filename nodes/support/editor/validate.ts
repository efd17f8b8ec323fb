import { variableIn } from '../../../lib/environment-variable';

/** `${NAME}` as the whole value: Node-RED puts the environment variable in its place at run time. */
export function isVariable(value: unknown): boolean {
  return variableIn(value) !== undefined;
}

/** The text in a field or property, without outer white space. */
export function trimmed(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
}

/** True, or the reason: a number from `least` to `most`, or a variable. */
export function numberOrReason(
  node: EditorNode,
  value: unknown,
  least: number,
  most = Infinity,
): boolean | string {
  if (isVariable(value)) return true;
  const text = trimmed(value);
  const number = Number(text);
  if (text !== '' && Number.isFinite(number) && number >= least && number <= most) return true;
  return most === Infinity
    ? node._('shared.errors.number', { least })
    : node._('shared.errors.numberBetween', { least, most });
}
