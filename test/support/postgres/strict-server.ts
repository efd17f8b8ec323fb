import { Authority } from '../network/authority';
import { PostgresServer } from './postgres-server';
import { ServerFiles } from './server-files';

/** Who has to prove who he is. */
const RULES = `host all alarms 127.0.0.1/32 scram-sha-256
host all,replication all 127.0.0.1/32 trust
`;

/** A server that speaks TLS by an authority that no machine knows, and asks the role `alarms` for its password. */
export class StrictServer {
  private constructor(
    readonly server: PostgresServer,
    readonly authority: Authority,
    private readonly files: ServerFiles,
  ) {}

  static async start(password: string): Promise<StrictServer> {
    const authority = new Authority();
    const files = new ServerFiles();
    const { cert, key } = authority.issueForServer();
    const settings = {
      ssl: 'on',
      ssl_cert_file: files.save('server.crt', cert),
      ssl_key_file: files.save('server.key', key),
      hba_file: files.save('pg_hba.conf', RULES),
    };
    const server = await PostgresServer.start({ settings });
    await server.sql(`CREATE ROLE alarms LOGIN PASSWORD '${password}'`);
    return new StrictServer(server, authority, files);
  }

  async remove(): Promise<void> {
    await this.server.remove();
    this.authority.remove();
    this.files.remove();
  }
}
