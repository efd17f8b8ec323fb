import { LONGEST_PRE_ROLL } from '../../lib/cloud/choices';
import { readTime } from '../../lib/time';
import { cameraPicker } from '../support/editor/camera-picker';
import { fillAbsent } from '../support/editor/fill-absent';
import { checkAgain, currently, dialogOpened } from '../support/editor/open-dialog';
import { typedField } from '../support/editor/typed-field';
import { cameraOrReason, isVariable, numberOrReason, reasoned, trimmed } from '../support/editor/validate';

/** What the chosen mode has a use for; a variable may stand for any of them. */
function uses(mode: unknown): { camera: boolean; time: boolean; preRoll: boolean } {
  const isOpen = isVariable(mode);
  return {
    camera: isOpen || mode === 'recorded' || mode === 'live',
    time: isOpen || mode === 'recorded',
    preRoll: mode !== 'live',
  };
}

function showRows(): void {
  const { camera, time, preRoll } = uses($('#node-input-mode').val());
  $('.rvm-rtsp-camera').toggle(camera);
  $('.rvm-rtsp-time').toggle(time);
  $('.rvm-rtsp-recorded').toggle(preRoll);
}

function neededCameraOrReason(node: EditorNode, value: unknown): boolean | string {
  return !uses(currently(node, 'mode')).camera || cameraOrReason(node, value);
}

function timeOrReason(node: EditorNode, value: unknown): boolean | string {
  if (currently(node, 'mode') !== 'recorded') return true;
  const text = trimmed(value);
  if (isVariable(text)) return true;
  const isFixed = (currently(node, 'timeType') ?? 'str') === 'str';
  const usable = isFixed ? readTime(text) !== undefined || /^\d{12,13}$/.test(text) : text !== '';
  return usable || node._('rvm-get-rtsp.errors.time');
}

RED.nodes.registerType('rvm-get-rtsp', {
  category: 'remote monitoring',
  color: '#9fb8c8',
  icon: 'rvm-get-rtsp.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    mode: { value: 'event' },
    camera: { value: 'event.cameraId', validate: reasoned(neededCameraOrReason) },
    cameraType: { value: 'msg' },
    time: { value: '', validate: reasoned(timeOrReason) },
    timeType: { value: 'str' },
    preRoll: {
      value: 0,
      validate: reasoned((node, value) => numberOrReason(node, value, 0, LONGEST_PRE_ROLL)),
    },
    quality: { value: 'high' },
    whenOffline: { value: 'fail' },
    deadline: { value: 30, validate: reasoned((node, value) => numberOrReason(node, value, 1)) },
  },
  paletteLabel() {
    return this._('rvm-get-rtsp.label.node');
  },
  label() {
    return this.name || this._('rvm-get-rtsp.label.node');
  },
  labelStyle() {
    return this.name ? 'node_label_italic' : '';
  },
  outputLabels(index) {
    return this._(index === 0 ? 'shared.result' : 'shared.failed');
  },
  oneditprepare() {
    fillAbsent(this, 'node');
    dialogOpened(this);
    typedField('camera', 'msg');
    cameraPicker(this);
    typedField('time', 'str');
    $('#node-input-mode').on('change', () => {
      showRows();
      checkAgain('camera', 'time');
    });
    showRows();
  },
});
