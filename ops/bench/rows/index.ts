import type { Row } from '../lib/bench.ts'
import { accept, acceptAndDispatch } from './accept.ts'
import { backlog } from './backlog.ts'
import { bolt } from './bolt.ts'
import { dispatch } from './dispatch.ts'
import { latency } from './latency.ts'
import { mail } from './mail.ts'
import { memory } from './memory.ts'
import { push } from './push.ts'
import { queue } from './queue.ts'
import { ready } from './ready.ts'
import { rest } from './rest.ts'
import { storeSize } from './store-size.ts'

/** All rows, in the order of the table. */
export const rows: readonly Row[] = [
  accept,
  acceptAndDispatch,
  dispatch,
  queue,
  push,
  bolt,
  latency,
  storeSize,
  memory,
  rest,
  ready,
  backlog,
  mail,
]
