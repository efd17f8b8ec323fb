import type { PtzList } from '../../lib/cloud/calls';
import { PTZ_ACTIONS } from '../../lib/limits';
import { cameraPicker, targetPicker } from '../support/editor/camera';
import { prepareForm, checkAgain, currently, dialogOpened } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { typedField } from '../support/editor/fields';
import { cameraOrReason, deadlineOrReason, isOpen, reasoned, trimmed } from '../support/editor/validate';

/** The action chosen in the dialog; undefined where the message decides. */
function fixedAction(node: EditorNode): unknown {
  const isFixed = (currently(node, 'actionType') ?? 'str') === 'str';
  return isFixed ? (currently(node, 'action') ?? PTZ_ACTIONS[0]) : undefined;
}

function showRows(node: EditorNode): void {
  const action = fixedAction(node);
  $('.rvm-ptz-target').toggle(action !== 'goto-home');
  $('.rvm-ptz-tip').toggle(action !== 'goto-home' && action !== 'stop-tour');
  $('.rvm-ptz-stop').toggle(action === 'stop-tour');
  $('#rvm-ptz-target-label').text(targetLabel(node, action));
}

/** List with targets of the action; undefined where it has no target, or the message decides. */
function listOf(action: unknown): PtzList | undefined {
  if (action === 'goto-preset') return 'presets';
  return action === 'start-tour' || action === 'stop-tour' ? 'tours' : undefined;
}

function targetLabel(node: EditorNode, action: unknown): string {
  const list = listOf(action);
  return node._(`rvm-ptz.label.${list === undefined ? 'target' : list.slice(0, -1)}`);
}

function targetOrReason(node: EditorNode, value: unknown): boolean | string {
  const action = fixedAction(node);
  const isNeeded = action === 'goto-preset' || action === 'start-tour';
  return !isNeeded || isOpen(value) || trimmed(value) !== '' || node._('rvm-ptz.errors.target');
}

RED.nodes.registerType('rvm-ptz', {
  category: 'remote monitoring',
  color: '#a9cee0',
  icon: 'rvm-ptz.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    camera: { value: 'event.cameraId', validate: reasoned(cameraOrReason) },
    cameraType: { value: 'msg' },
    action: { value: 'goto-preset' },
    actionType: { value: 'str' },
    target: { value: '', validate: reasoned(targetOrReason) },
    targetType: { value: 'str' },
    deadline: { value: 5, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    dialogOpened(this);
    const options = PTZ_ACTIONS.map((value) => ({ value, label: this._(`rvm-ptz.action.${value}`) }));
    typedField('camera', 'msg');
    cameraPicker(this);
    typedField('action', 'str', { label: this._('rvm-ptz.label.fixed'), options });
    typedField('target', 'str');
    const targets = targetPicker(this, 'target', () => listOf(fixedAction(this)));
    $('#node-input-action').on('change', () => {
      showRows(this);
      checkAgain('target');
      targets.reset();
    });
    showRows(this);
  },
});
