import type { TransportKind } from '../src/core/transport.ts'
import type { QueueHost } from './bullmq/host.ts'
import { bullmq } from './bullmq/index.ts'
import { cli } from './cli/index.ts'
import type { HandOverHost } from './email/host.ts'
import { email } from './email/index.ts'
import type { SlackHost } from './slack/host.ts'
import { slack } from './slack/index.ts'
import type { KeepingHost } from './webhook/host.ts'
import { webhook } from './webhook/index.ts'
import { websocket } from './websocket/index.ts'

/** Union of the transports' dependencies beyond `TransportDeps`. */
export type Hosts = QueueHost & SlackHost & HandOverHost & KeepingHost

/** All kinds of transport. A new one needs a folder here and a line in this map. */
export const transports: Record<string, TransportKind<unknown, Hosts>> = {
  bullmq,
  cli,
  email,
  slack,
  webhook,
  websocket,
}
