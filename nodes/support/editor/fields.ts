import { LONGEST_VIDEO_WAIT_S } from '../../../lib/limits';
import { readTime } from '../../../lib/time';
import { cameraPicker } from './camera';
import { checkAgain, currently, dialogOpened } from './form';
import { cameraOrReason, isVariable, numberOrReason, trimmed } from './validate';

const TYPES = ['msg', 'flow', 'global', 'str', 'num', 'env', 'jsonata'];

/** Fixed values to choose from, instead of free text. */
interface FixedChoice {
  /** Label of the type in the menu. */
  label: string;
  options: { value: string; label: string }[];
}

/** Makes the field of a property a typed input; its type is stored in the field of `<name>Type`. */
export function typedField(name: string, byDefault: string, fixed?: FixedChoice): void {
  const choice = { value: 'str', ...fixed } as TypedInputType;
  const types =
    fixed === undefined ? TYPES : [choice, ...TYPES.filter((type) => type !== 'str' && type !== 'num')];
  $(`#node-input-${name}`).typedInput({ default: byDefault, typeField: $(`#node-input-${name}Type`), types });
}

/** Groups of fields in the dialogs of video nodes; each mode uses some of them. */
interface Uses {
  camera: boolean;
  time: boolean;
  /** A recording: it may start earlier (pre-roll), and may not exist yet. */
  recorded: boolean;
  /** The event may contain more than its start time. */
  event: boolean;
}

/** Groups used by a mode; all of them for a variable. */
function usesOf(mode: unknown): Uses {
  const isOpen = isVariable(mode);
  return {
    camera: isOpen || mode === 'recorded' || mode === 'live',
    time: isOpen || mode === 'recorded',
    recorded: mode !== 'live',
    event: isOpen || mode === 'event',
  };
}

/** Groups used by the mode in the open dialog, or stored in the node. */
export function videoUses(node: EditorNode): Uses {
  return usesOf(currently(node, 'mode') ?? 'event');
}

/** True, or the reason: a camera, where the mode needs one. */
export function neededCameraOrReason(node: EditorNode, value: unknown): boolean | string {
  return !videoUses(node).camera || cameraOrReason(node, value);
}

/** True, or the reason: a time, or a place that may contain one, in the mode that needs it. */
export function timeOrReason(node: EditorNode, value: unknown): boolean | string {
  if (currently(node, 'mode') !== 'recorded') return true;
  const text = trimmed(value);
  if (isVariable(text)) return true;
  const isFixed = (currently(node, 'timeType') ?? 'str') === 'str';
  const usable = isFixed ? readTime(text) !== undefined || /^\d{12,13}$/.test(text) : text !== '';
  return usable || node._('shared.errors.time');
}

/** True, or the reason: seconds to wait for a recording. */
export function waitOrReason(node: EditorNode, value: unknown): boolean | string {
  return numberOrReason(node, value, 0, LONGEST_VIDEO_WAIT_S);
}

/**
 * Prepares the fields of mode, camera and time, and shows with each mode the elements it uses, by their class:
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
