/** What a key does, wherever the focus is. */
export type KeyAction = 'toggle' | 'back' | 'forward' | 'begin' | 'live' | 'fullScreen';

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  ' ': 'toggle',
  ArrowLeft: 'back',
  ArrowRight: 'forward',
  Home: 'begin',
  l: 'live',
  f: 'fullScreen',
};
/** Keys that mean something of their own to what has the focus. */
const OF_BUTTONS = new Set([' ']);
const OF_FIELDS = new Set(['ArrowLeft', 'ArrowRight', 'Home', 'l', 'f']);

/** Undefined for what is not for the player: with Ctrl and the like, or where the focus has its own use of it. */
export function actionOf(event: KeyboardEvent): KeyAction | undefined {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return undefined;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const action = Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : undefined;
  if (action === undefined || !(event.target instanceof Element)) return action;
  if (OF_BUTTONS.has(key) && event.target.matches('button, a, summary')) return undefined;
  const isText = event.target.matches('textarea, select, input:not([type=range])');
  return isText && (OF_FIELDS.has(key) || key === ' ') ? undefined : action;
}
