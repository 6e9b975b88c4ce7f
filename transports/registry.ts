import type { TransportKind } from '../src/core/transport.ts'
import { bullmq } from './bullmq/index.ts'
import { cli } from './cli/index.ts'
import { email } from './email/index.ts'
import { slack } from './slack/index.ts'
import { webhook } from './webhook/index.ts'
import { websocket } from './websocket/index.ts'

/** Every kind of transport. A new one is a folder here and a line in this map. */
export const transports: Record<string, TransportKind> = {
  bullmq,
  cli,
  email,
  slack,
  webhook,
  websocket,
}
