import type { Node, NodeAPI } from 'node-red';
import { serviceNode } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/typed-input';
import { deliveryIdOf } from '../rvm-inbox/inboxes';
import { type NodeConfig, registerNode } from '../support/register';
import { textOf, type Properties } from '../support/settings';
import { keepPicture } from '../support/recent-video';

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  serviceNode(RED, node, config, async (msg, client, options, station) => {
    const wanted = widthOf(config);
    const camera = await cameraOf(RED, node, config, msg);
    const { jpeg, filename, cameraId, time } = await client.snapshot(camera, wanted, options);
    // A copy: a flow may change it, and the sidebar shows the picture as taken.
    msg.payload = Buffer.from(jpeg);
    msg.filename = filename;
    // Replaces all headers: behind http in these are request headers, and http response would send them.
    msg.headers = { 'content-type': 'image/jpeg' };
    keepPicture(deliveryIdOf(msg), jpeg, 'live', { station: station.key, camera: cameraId });
    msg.snapshot = { cameraId, time, live: true };
  });
}

/** Empty = the default of the service. The client validates the number. */
function widthOf(properties: Properties): { width?: number } {
  const text = textOf(properties, 'width').trim();
  return text === '' ? {} : { width: Number(text) };
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-snapshot', build);
