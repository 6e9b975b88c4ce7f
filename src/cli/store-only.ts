import type { JsonObject } from '../core/json.ts'
import { pause } from '../lib/pause.ts'
import { createNameMatcher } from '../runtime/names.ts'
import type { Environs } from './command.ts'
import { type Connection, connect, connectOrRead } from './connection.ts'

/** Built-in skills that only need the store, so they run without a daemon. */
const STORE_ONLY = createNameMatcher(
  'state-* session-* call-* schedule-* send-list send-cancel delegation-* task-* workbench-* approval-list dead-letter-list dead-letter-show message-list message-show message-search conversation-* view-* daemon-resume remember recall forget search-notes',
)

/** Whether this built-in skill runs without a daemon. */
export function isStoreOnly(name: string): boolean {
  return STORE_ONLY.matches(name)
}

/** The connection for a built-in skill without a daemon. Throws `not_running` if it needs one. */
export async function withoutDaemon(
  name: string,
  args: JsonObject,
  connection: Connection,
  environs: Environs,
): Promise<Pick<Connection, 'invoke'>> {
  // The memory of this process ends with the command, so this needs the daemon.
  if (args.store === 'memory') return connect(environs)
  if (name !== 'state-wait') return connection
  // Closes the store between polls, because the process that sets the key needs it too.
  await connection[Symbol.asyncDispose]()
  return { invoke: (_: string, wait: unknown) => pollState(Object(wait), environs) }
}

/** Polling interval (ms) of `state-wait`. */
const POLL_INTERVAL = 500

async function pollState({ timeout = 60_000, ...args }: JsonObject, environs: Environs) {
  const deadline = performance.now() + Number(timeout)
  for (;;) {
    await using connection = await connectOrRead(environs)
    const left = Math.max(0, Math.round(deadline - performance.now()))
    // A daemon that has started meanwhile waits itself.
    const found = await connection.invoke('state-wait', { ...args, timeout: connection.running ? left : 0 })
    if (found !== null || connection.running || left === 0) return found
    await connection[Symbol.asyncDispose]()
    await pause(Math.min(left, POLL_INTERVAL))
  }
}
