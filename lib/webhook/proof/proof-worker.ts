import { parentPort } from 'node:worker_threads';
import { jsonOf } from '../../message/body';
import { authenticate } from './authenticate';
import { withStations, type FoundProof, type ProofJob } from './proof-thread';

function proofOf({ body, authorization, stations }: ProofJob): FoundProof {
  const authentication = authenticate({ body, authorization, json: jsonOf(body) }, stations);
  return withStations(authentication, (station) => stations.indexOf(station));
}

if (parentPort !== null) {
  const port = parentPort;
  port.on('message', (job: ProofJob) => port.postMessage(proofOf(job)));
}
