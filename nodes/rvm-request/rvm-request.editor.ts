import { cameraPicker } from '../support/editor/camera';
import { prepareForm, checkAgain, currently, dialogOpened } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { typedField } from '../support/editor/fields';
import { cameraOrReason, deadlineOrReason, isVariable, reasoned } from '../support/editor/validate';

function startsAtCamera(start: unknown): boolean {
  return start === 'device' || start === 'data-sources' || isVariable(start);
}

function showRows(): void {
  const start = $('#node-input-start').val();
  $('.rvm-request-camera').toggle(startsAtCamera(start));
  $('.rvm-request-url').toggle(start === 'url' || isVariable(start));
  $('.rvm-request-body').toggle($('#node-input-method').val() !== 'GET');
}

function neededCameraOrReason(node: EditorNode, value: unknown): boolean | string {
  return !startsAtCamera(currently(node, 'start')) || cameraOrReason(node, value);
}

RED.nodes.registerType('rvm-request', {
  category: 'remote monitoring',
  color: '#a9cee0',
  icon: 'rvm-request.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    station: { value: '', type: 'rvm-central-station', required: false },
    start: { value: 'system' },
    camera: { value: 'event.cameraId', validate: reasoned(neededCameraOrReason) },
    cameraType: { value: 'msg' },
    rels: { value: '' },
    method: { value: 'GET' },
    deadline: { value: 30, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    dialogOpened(this);
    typedField('camera', 'msg');
    cameraPicker(this);
    $('#node-input-start').on('change', () => {
      showRows();
      checkAgain('camera');
    });
    $('#node-input-method').on('change', showRows);
    showRows();
  },
});
