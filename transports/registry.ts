import type { TransportKind } from '../src/core/transport.ts'
import type { QueueHost } from './bullmq/host.ts'
import { bullmq } from './bullmq/index.ts'
import { cli } from './cli/index.ts'
import { email } from './email/index.ts'
import type { SlackHost } from './slack/host.ts'
import { slack } from './slack/index.ts'
import { webhook } from './webhook/index.ts'
import { websocket } from './websocket/index.ts'

/** What the kinds need of the daemon beyond `TransportDeps`, all together. */
export type Hosts = QueueHost & SlackHost

/** Every kind of transport. A new one is a folder here and a line in this map. */
export const transports: Record<string, TransportKind<unknown, Hosts>> = {
  bullmq,
  cli,
  email,
  slack,
  webhook,
  websocket,
}
