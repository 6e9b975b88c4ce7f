import type { Check } from '../core/transport.ts'

/** The result of a check of a gateway, and when it ran (Unix ms). */
export type DatedCheck = Check & { at: number }

/**
 * What this daemon has seen of its gateways: since when each works or fails, and its last checks.
 */
export function createGatewayMemory(now: () => number) {
  const states = new Map<string, { ok: boolean; since: number }>()
  const checks = new Map<string, DatedCheck[]>()
  return {
    /** Notes whether a gateway works. */
    seen(name: string, ok: boolean): void {
      if (states.get(name)?.ok !== ok) states.set(name, { ok, since: now() })
    },
    /** When the daemon first saw a gateway in its present state (Unix ms). */
    since: (name: string) => states.get(name)?.since,
    /** Notes the results of checks that ran now, and returns them with their time. */
    checked(name: string, results: readonly Check[]): DatedCheck[] {
      const at = now()
      const dated = results.map((check) => ({ ...check, at }))
      checks.set(name, dated)
      return dated
    },
    /**
     * The results of the last checks of a gateway; undefined if it was not checked since the start.
     */
    lastChecks: (name: string) => checks.get(name),
  }
}
