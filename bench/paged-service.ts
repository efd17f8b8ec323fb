import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { PagedDevices, type PagedDevicesOptions } from '../test/support/service/paged-devices';

/** The login to a service, as the flow file has it. */
export interface Account {
  apiKey: string;
  username: string;
  password: string;
}

/** A service with very many cameras, in a process of its own. */
export class PagedService {
  private constructor(
    readonly url: string,
    readonly account: Account,
    private readonly child: ChildProcess,
  ) {}

  static async start(options: PagedDevicesOptions): Promise<PagedService> {
    const child = fork(__filename, [JSON.stringify(options)], { execArgv: ['--import=tsx'] });
    const [{ url, account }] = (await once(child, 'message')) as [{ url: string; account: Account }];
    return new PagedService(url, account, child);
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

async function serve(options: PagedDevicesOptions): Promise<void> {
  const service = await PagedDevices.start(options);
  const { url, apiKey, username, password } = service;
  process.send?.({ url, account: { apiKey, username, password } });
}

if (require.main === module) void serve(JSON.parse(process.argv[2] ?? '') as PagedDevicesOptions);
