import { LONGEST_VIDEO_WAIT_S } from '../../../lib/limits';
import { readTime } from '../../../lib/time';
import { cameraPicker } from './camera';
import { checkAgain, currently, dialogOpened } from './form';
import { cameraOrReason, isVariable, numberOrReason, trimmed } from './validate';

const TYPES = ['msg', 'flow', 'global', 'str', 'num', 'env', 'jsonata'];

/** Fixed values to choose from, in the place of a free text. */
interface FixedChoice {
  /** What the type is called in the menu. */
  label: string;
  options: { value: string; label: string }[];
}

/** Makes a typed input of the field of a property; its type is kept in the field of `<name>Type`. */
export function typedField(name: string, byDefault: string, fixed?: FixedChoice): void {
  const choice = { value: 'str', ...fixed } as TypedInputType;
  const types =
    fixed === undefined ? TYPES : [choice, ...TYPES.filter((type) => type !== 'str' && type !== 'num')];
  $(`#node-input-${name}`).typedInput({ default: byDefault, typeField: $(`#node-input-${name}Type`), types });
}

/** What the dialogs of nodes that ask for video have in common: fields that only some of the modes have a use for. */
interface Uses {
  camera: boolean;
  time: boolean;
  /** It is a recording that may be asked for from an earlier time on, and that may not be there yet. */
  recorded: boolean;
  /** The event may tell more than when it began. */
  event: boolean;
}

/** What the chosen mode has a use for; a variable may stand for any of them. */
function usesOf(mode: unknown): Uses {
  const isOpen = isVariable(mode);
  return {
    camera: isOpen || mode === 'recorded' || mode === 'live',
    time: isOpen || mode === 'recorded',
    recorded: mode !== 'live',
    event: isOpen || mode === 'event',
  };
}

/** What the mode that a node has, or that its open dialog shows, has a use for. */
export function videoUses(node: EditorNode): Uses {
  return usesOf(currently(node, 'mode') ?? 'event');
}

/** True, or the reason: a camera, where the mode asks for one. */
export function neededCameraOrReason(node: EditorNode, value: unknown): boolean | string {
  return !videoUses(node).camera || cameraOrReason(node, value);
}

/** True, or the reason: a time that can be read, or a place where one may be found, in the mode that asks for one. */
export function timeOrReason(node: EditorNode, value: unknown): boolean | string {
  if (currently(node, 'mode') !== 'recorded') return true;
  const text = trimmed(value);
  if (isVariable(text)) return true;
  const isFixed = (currently(node, 'timeType') ?? 'str') === 'str';
  const usable = isFixed ? readTime(text) !== undefined || /^\d{12,13}$/.test(text) : text !== '';
  return usable || node._('shared.errors.time');
}

/** True, or the reason: the seconds that a node waits for a recording. */
export function waitOrReason(node: EditorNode, value: unknown): boolean | string {
  return numberOrReason(node, value, 0, LONGEST_VIDEO_WAIT_S);
}

/**
 * Fills the fields of mode, camera and time, and shows with each mode what that has a use for: what carries
 * `rvm-video-camera`, `rvm-video-time`, `rvm-video-recorded` or `rvm-video-event`.
 * @param dependent further properties whose check depends on the mode
 */
export function videoFields(node: EditorNode, ...dependent: string[]): void {
  dialogOpened(node);
  typedField('camera', 'msg');
  const picker = cameraPicker(node);
  typedField('time', 'str');
  const mode = $('#node-input-mode');
  const showRows = (): void => {
    const uses = usesOf(mode.val());
    for (const [use, isUsed] of Object.entries(uses)) $(`.rvm-video-${use}`).toggle(isUsed);
    if (!uses.camera) picker.close();
  };
  mode.on('change', () => {
    showRows();
    checkAgain('camera', 'time', ...dependent);
  });
  showRows();
}
