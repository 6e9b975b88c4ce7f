import { reasonOf } from '../../../src/core/errors.ts'
import { type Log, silent } from '../../../src/core/log.ts'
import type { ListenerTrial } from '../../../src/core/transport.ts'
import { startAppThread } from './app-thread.ts'

/**
 * Loads a Bolt app without tokens, and ends it again. `fault`: why it cannot be loaded; undefined
 * if it can. Never rejects.
 */
export async function tryApp(file: string, apiUrl: string): Promise<ListenerTrial> {
  try {
    const authorize = () => Promise.reject(new Error('the app is only loaded, and has no token'))
    const app = await startAppThread({ data: { file, apiUrl }, log: silent, authorize, exited() {} })
    await app.terminate()
    return { warnings: app.warnings.map((warning) => `the Bolt app ${file}: ${warning}`) }
  } catch (error) {
    return { fault: cannotBeLoaded(file, error), warnings: [] }
  }
}

export const cannotBeLoaded = (file: string, error: unknown) =>
  `the Bolt app ${file} cannot be loaded: ${reasonOf(error)}`

/**
 * Finds the apps of a gateway that cannot be loaded, while there is no working token to run them.
 */
export function createInspection(files: () => readonly string[], apiUrl: string, log: Log) {
  let faults: string[] = []
  return {
    /** Loads each app, and logs the failures. Never rejects. */
    async run(): Promise<void> {
      const results = await Promise.all(files().map((file) => tryApp(file, apiUrl)))
      faults = results.flatMap(({ fault }) => fault ?? [])
      for (const fault of faults) log.error({}, fault)
    },
    /** The failures of the last run. */
    faults: (): readonly string[] => faults,
  }
}
