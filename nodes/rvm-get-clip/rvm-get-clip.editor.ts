import { LONGEST_PRE_ROLL, LONGEST_CLIP_S, LONGEST_WHOLE_CLIP_S } from '../../lib/limits';
import { prepareForm } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import {
  deadlineOrReason,
  folderOrReason,
  numberOrReason,
  reasoned,
  trimmed,
} from '../support/editor/validate';
import {
  neededCameraOrReason,
  timeOrReason,
  videoFields,
  videoUses,
  waitOrReason,
} from '../support/editor/fields';

/** Shows rows used only by a clip to the end of its alarm, or by one stored in a file. */
function showRows(node: EditorNode): void {
  $('.rvm-clip-whole').toggle(videoUses(node).event && $('#node-input-untilEnd').prop('checked') === true);
  $('.rvm-clip-kept').toggle(trimmed($('#node-input-folder').val()) !== '');
}

RED.nodes.registerType('rvm-get-clip', {
  category: 'remote monitoring',
  color: '#a597cc',
  icon: 'rvm-get-clip.svg',
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
      value: 5,
      validate: reasoned((node, value) => numberOrReason(node, value, 0, LONGEST_PRE_ROLL)),
    },
    seconds: {
      value: 20,
      validate: reasoned((node, value) => numberOrReason(node, value, 1, LONGEST_CLIP_S)),
    },
    untilEnd: { value: false },
    maxSeconds: {
      value: 300,
      validate: reasoned((node, value) => numberOrReason(node, value, 1, LONGEST_WHOLE_CLIP_S)),
    },
    folder: { value: '', validate: reasoned(folderOrReason) },
    keepDays: { value: 0, validate: reasoned((node, value) => numberOrReason(node, value, 0)) },
    quality: { value: 'high' },
    whenOffline: { value: 'fail' },
    waitForVideo: { value: 60, validate: reasoned(waitOrReason) },
    deadline: { value: 90, validate: reasoned(deadlineOrReason) },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    videoFields(this);
    $('#node-input-mode, #node-input-untilEnd, #node-input-folder').on('input change', () => showRows(this));
    showRows(this);
  },
});
