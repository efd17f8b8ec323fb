import type { PtzTarget, RtspSession } from '../../../lib/cloud/calls';
import type { ScriptedService } from '../../support/service/scripted-service';
import { ChainService } from '../../support/service/foreign/chain-service';
import { CommandService } from '../../support/service/foreign/command-service';
import type { ForeignService } from '../../support/service/foreign/foreign-service';
import { GatewayService } from '../../support/service/foreign/gateway-service';

/** One foreign service, and what a client must make of it. */
export interface Flavour {
  name: string;
  build: (service: ScriptedService) => ForeignService;
  version: string;
  /** Id of the camera called Gate, as the service writes it. */
  id: string;
  /** The same as an event may write it. */
  eventId: string;
  remoteId: string;
  /** Status and usability of Gate, Yard and Dock. */
  statuses: [string, boolean][];
  /** A field that only the details of Gate have. */
  detail: [string, unknown];
  url: string;
  relay: RtspSession['relay'];
  presets: PtzTarget[];
  tours: PtzTarget[];
  /** What the camera is told by the action `goto-home`; undefined where that is not offered. */
  home: string | undefined;
  start: string;
  stop: string;
  /** What stopping without naming a tour tells the camera. */
  stopAny: string;
  /** Relations from the data sources, or the device, to the list of presets. */
  toPresets: { start: 'device' | 'data-sources'; rels: string[] };
  /** What each of two requests for a picture asks for: one without a width and one of 640. */
  pictures: [string, string];
  /** What the service says when its session is over, and when a thing is not there. */
  notFound: { serverCode?: string; serverMessage: string };
}

export const FLAVOURS: readonly Flavour[] = [
  {
    name: 'a service of chained links',
    build: (service) => new ChainService(service),
    version: '5.11',
    id: '{0E9F0C1A-0000-E911-F000-00000000000A}',
    eventId: '0e9f0c1a-0000-e911-f000-00000000000a',
    remoteId: '4xIx1DMwMLSwMDW2tDROTd_-Gate',
    statuses: [
      ['online', true],
      ['unauthenticated, initializing', false],
      ['id_inconsistent, Online', true],
    ],
    detail: ['firmware', '7.1'],
    url: 'rtsps://relay.example/chain?key=a%2Fb',
    relay: { scheme: 'rtsps', host: 'relay.example', port: 322 },
    presets: [
      { id: 0, name: 'Door' },
      { id: 4, name: '' },
    ],
    tours: [{ id: '2', name: 'Round' }],
    home: undefined,
    start: 'tour 2 starts',
    stop: 'tours stop',
    stopAny: 'tours stop',
    toPresets: { start: 'data-sources', rels: ['rel/ptz_controller', 'presets'] },
    pictures: ['quality=a%2Fb', 'quality=a%2Fb&width=640'],
    notFound: { serverCode: 'NoSuchResource', serverMessage: 'refused as NoSuchResource' },
  },
  {
    name: 'a service of commands',
    build: (service) => new CommandService(service),
    version: '7.12',
    id: '4xIx1DMwMLSwMDW2tDROTd-gAtE',
    eventId: '4xIx1DMwMLSwMDW2tDROTd-gAtE',
    remoteId: '22characterBase64url_-',
    statuses: [
      ['CONNECTED', true],
      ['DISCONNECTED', false],
      ['online', true],
    ],
    detail: ['firmwareVersion', '7.1'],
    url: 'rtsp://relay.example:5540/command',
    relay: { scheme: 'rtsp', host: 'relay.example', port: 5540 },
    presets: [
      { id: 0, name: 'Door' },
      { id: 3, name: 'Ramp' },
    ],
    tours: [{ id: 0, name: 'Round' }],
    home: 'home',
    start: 'tour 0 starts',
    stop: 'tour 0 stops',
    stopAny: 'tour 0 stops',
    toPresets: { start: 'device', rels: ['rel/ptz_presets'] },
    pictures: [
      'format=jpeg&cameraId=4xIx1DMwMLSwMDW2tDROTd-gAtE&t=live',
      'format=jpeg&cameraId=4xIx1DMwMLSwMDW2tDROTd-gAtE&t=live&width=640',
    ],
    notFound: { serverCode: 'NOT_FOUND', serverMessage: 'no such thing' },
  },
  {
    name: 'a service behind a gateway',
    build: (service) => new GatewayService(service),
    version: '2',
    id: '1001',
    eventId: '1001',
    remoteId: 'RemoteId+of/Gate==',
    statuses: [
      ['Online', true],
      ['Offline', false],
      ['ONLINE', true],
    ],
    detail: ['Model', 'Dome'],
    url: 'RTSP://u:p@[2001:db8::1]:8554/gateway?a=[1]',
    relay: { scheme: 'rtsp', host: '[2001:db8::1]', port: 8554 },
    presets: [
      { id: '0', name: 'Door' },
      { id: 7, name: '' },
    ],
    tours: [{ id: '0', name: 'Round' }],
    home: 'home',
    start: 'tour 0 starts',
    stop: 'tour 0 stops',
    stopAny: 'tour 0 stops',
    toPresets: { start: 'data-sources', rels: ['rel/presets'] },
    pictures: ['Source=1', 'Source=1&width=640'],
    notFound: { serverMessage: 'No resource is here.' },
  },
];
