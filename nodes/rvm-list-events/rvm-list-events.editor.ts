import { writtenTime } from '../../lib/time';
import { currently, dialogOpened, prepareForm, typedOrReason } from '../support/editor/form';
import { label, labelStyle, onpaletteadd, outputLabels, paletteLabel } from '../support/editor/palette';
import { typedField } from '../support/editor/fields';
import { inRange, isVariable, reasoned, trimmed } from '../support/editor/validate';

/** A check of one end of the period. Valid: empty, a time as the node reads it, or a place that may hold one. */
function timeIn(name: 'since' | 'until'): ReturnType<typeof reasoned> {
  return reasoned((node, value) => {
    if ((currently(node, `${name}Type`) ?? 'str') !== 'str') return typedOrReason(node, name);
    const text = trimmed(value);
    const isTime = Number.isFinite(writtenTime(text));
    return text === '' || isVariable(text) || isTime || node._('shared.errors.time');
  });
}

/** Counts have no history. A hint shows that they cover only the selected state. */
function showRows(): void {
  const isCounted = $('#node-input-groupBy').val() !== '';
  $('.rvm-list-events-history').toggle(!isCounted);
  $('.rvm-list-events-counts').toggle(isCounted && $('#node-input-state').val() !== 'all');
}

RED.nodes.registerType('rvm-list-events', {
  category: 'remote monitoring',
  color: '#e8a866',
  icon: 'rvm-list-events.svg',
  inputs: 1,
  outputs: 2,
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    state: { value: 'open' },
    since: { value: '', validate: timeIn('since') },
    sinceType: { value: 'str' },
    until: { value: '', validate: timeIn('until') },
    untilType: { value: 'str' },
    site: { value: '' },
    siteType: { value: 'str' },
    camera: { value: '' },
    cameraType: { value: 'str' },
    limit: { value: 100, validate: inRange(1, 10_000) },
    history: { value: false },
    groupBy: { value: '' },
  },
  paletteLabel,
  onpaletteadd,
  label,
  labelStyle,
  outputLabels,
  oneditprepare() {
    prepareForm(this, 'node');
    for (const name of ['since', 'until', 'site', 'camera']) typedField(name, 'str');
    dialogOpened(this);
    $('#node-input-groupBy, #node-input-state').on('change', showRows);
    showRows();
  },
});
