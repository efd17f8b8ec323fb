import assert from 'node:assert/strict';
import { endpointKey, placeOfKey } from '../../lib/webhook/endpoint';

describe('the key of an endpoint', () => {
  it('is the port of its listener and its path', () => {
    assert.equal(endpointKey('8443', '/alarms'), '8443:/alarms');
  });

  it('has no port on the server of Node-RED itself, which may have another one on another machine', () => {
    assert.equal(endpointKey('', '/remote-monitoring/north'), ':/remote-monitoring/north');
  });

  it('is the same with one trailing slash, by which the same requests come', () => {
    assert.equal(endpointKey('', '/alarms/'), endpointKey('', '/alarms'));
    assert.notEqual(endpointKey('', '/alarms//'), endpointKey('', '/alarms'));
  });

  it('tells upper from lower case, as requests do', () => {
    assert.notEqual(endpointKey('', '/Alarms'), endpointKey('', '/alarms'));
  });

  it('says at which port and path it is', () => {
    assert.deepEqual(placeOfKey('8443:/a:b/c'), { port: '8443', path: '/a:b/c' });
    assert.deepEqual(placeOfKey(':/alarms'), { port: '', path: '/alarms' });
  });

  it('is not taken for a node id, under which events wait while nodes exchange their paths', () => {
    assert.deepEqual(placeOfKey('f6f2187d.f17ca8'), { port: '', path: 'f6f2187d.f17ca8' });
  });
});
