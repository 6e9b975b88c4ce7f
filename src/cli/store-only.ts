import type { JsonObject } from '../core/json.ts'
import { pause } from '../lib/pause.ts'
import { createNameMatcher } from '../runtime/names.ts'
import type { Environs } from './command.ts'
import { type Connection, connect, connectOrOpen } from './connection.ts'

/** Built-in skills that need the store and nothing that only a daemon has: they run without one. */
const STORE_ONLY = createNameMatcher(
  'state-* session-* call-* schedule-* send-list send-cancel delegation-* task-* workbench-* approval-list dead-letter-list dead-letter-show message-list message-show message-search conversation-* remember recall forget search-notes',
)

/** Whether a built-in skill of that name runs without a daemon. */
export function isStoreOnly(name: string): boolean {
  return STORE_ONLY.matches(name)
}

/** What a built-in skill is invoked on without a daemon. Throws `not_running` for what only a daemon has. */
export async function withoutDaemon(
  name: string,
  args: JsonObject,
  connection: Connection,
  environs: Environs,
): Promise<Pick<Connection, 'invoke'>> {
  // This process ends with the command, and its memory with it.
  if (args.store === 'memory') return connect(environs)
  if (name !== 'state-wait') return connection
  // Whoever sets the key needs the store, too.
  await connection[Symbol.asyncDispose]()
  return { invoke: (_: string, wait: unknown) => waitInRounds(Object(wait), environs) }
}

/** Ms between two looks of `state-wait`, in which the store is free. */
const ROUND_OF_WAIT = 500

async function waitInRounds({ timeout = 60_000, ...args }: JsonObject, environs: Environs) {
  const end = performance.now() + Number(timeout)
  for (;;) {
    await using connection = await connectOrOpen(environs)
    const left = Math.max(0, Math.round(end - performance.now()))
    // A daemon that has come meanwhile waits by itself.
    const found = await connection.invoke('state-wait', { ...args, timeout: connection.running ? left : 0 })
    if (found !== null || connection.running || left === 0) return found
    await connection[Symbol.asyncDispose]()
    await pause(Math.min(left, ROUND_OF_WAIT))
  }
}
