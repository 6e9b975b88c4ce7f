import { reasonOf } from '../../../src/core/errors.ts'
import { type Log, silent } from '../../../src/core/log.ts'
import { startAppThread } from './app-thread.ts'

/**
 * Why a Bolt app cannot be loaded; undefined if it can. It is loaded without tokens, and ended again.
 * Never rejects.
 */
export async function faultOfApp(file: string, apiUrl: string): Promise<string | undefined> {
  try {
    const authorize = () => Promise.reject(new Error('the app is only loaded, and has no token'))
    const app = await startAppThread({ data: { file, apiUrl }, log: silent, authorize, exited() {} })
    await app.terminate()
    return undefined
  } catch (error) {
    return cannotBeLoaded(file, error)
  }
}

export const cannotBeLoaded = (file: string, error: unknown) =>
  `the Bolt app ${file} cannot be loaded: ${reasonOf(error)}`

/** Finds the apps of a gateway that cannot be loaded, while there is no working token to run them. */
export function createInspection(files: () => readonly string[], apiUrl: string, log: Log) {
  let faults: string[] = []
  return {
    /** Loads each app, and logs the failures. Never rejects. */
    async run(): Promise<void> {
      const results = await Promise.all(files().map((file) => faultOfApp(file, apiUrl)))
      faults = results.flatMap((fault) => fault ?? [])
      for (const fault of faults) log.error({}, fault)
    },
    /** The failures of the last run. */
    faults: (): readonly string[] => faults,
  }
}
