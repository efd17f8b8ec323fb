import assert from 'node:assert/strict';
import { csvLine } from '../../../lib/inbox/program/export';

describe('a line of CSV', () => {
  for (const text of ['=1+1', '+1', '-1', '@SUM(1)', '＝1+1', '\t=1'])
    it(`is no formula to a spreadsheet where a cell is ${JSON.stringify(text)}`, () => {
      assert.equal(csvLine([text, 'next']), `'${text},next\r\n`);
    });

  it('is no formula where it begins with an empty line', () => {
    assert.equal(csvLine(['\n=1']), `"'\n=1"\r\n`);
  });

  it('says nothing to a terminal, and hides no formula behind what a spreadsheet leaves out', () => {
    assert.equal(csvLine(['\u001B[2J', '\0=1', '\u009B31m']), '\uFFFD[2J,\uFFFD=1,\uFFFD31m\r\n');
  });

  it('keeps numbers as they are, and has nothing where there is nothing', () => {
    assert.equal(csvLine([-1, null, undefined]), '-1,,\r\n');
  });
});
