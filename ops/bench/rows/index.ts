import type { Row } from '../lib/bench.ts'
import { accept, acceptAndDispatch } from './accept.ts'
import { backlog } from './backlog.ts'
import { dispatch } from './dispatch.ts'
import { email } from './email.ts'
import { latency } from './latency.ts'
import { memory } from './memory.ts'
import { ready } from './ready.ts'
import { receive } from './receive.ts'
import { skillRuntime } from './skills.ts'
import { slack } from './slack.ts'
import { state } from './state.ts'
import { storeSize } from './store-size.ts'
import { websocket } from './websocket.ts'

/** All rows, in the order of the table. */
export const rows: readonly Row[] = [
  accept,
  acceptAndDispatch,
  websocket,
  slack,
  dispatch,
  receive,
  skillRuntime,
  state,
  email,
  latency,
  storeSize,
  memory,
  ready,
  backlog,
]
