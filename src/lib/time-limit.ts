import { createContext, Script } from 'node:vm'

const context = createContext({ work: undefined })
const script = new Script('work()')

/**
 * Runs synchronous code that depends on untrusted input, and stops it after `ms`. Returns its
 * result; throws its error, or an Error with code ERR_SCRIPT_EXECUTION_TIMEOUT. Not for code that
 * holds files, locks or shared state.
 */
export function withTimeLimit<T>(ms: number, work: () => T): T {
  let result: { value: T } | undefined
  const previous: unknown = context.work
  context.work = () => {
    result = { value: work() }
  }
  try {
    script.runInContext(context, { timeout: ms })
  } finally {
    context.work = previous
  }
  if (!result) throw new Error('it did not run')
  return result.value
}
