import type { Services } from '../../../src/core/services.ts'

/**
 * Services of which a test gives the parts that it needs; each other part throws when it is touched, so
 * that a test cannot pass by accident.
 */
export function servicesWith(parts: Partial<Services>): Services {
  const missing = new Proxy<Record<string, never>>(
    {},
    {
      get(_, name) {
        throw new Error(`this test has no service for ${String(name)}`)
      },
    },
  )
  const all = {
    events: missing,
    receive: missing,
    send: missing,
    messages: missing,
    deadLetters: missing,
    gateways: missing,
    state: missing,
    callbacks: missing,
    approvals: missing,
    sessions: missing,
    assistant: missing,
    schedules: missing,
    workbench: missing,
    calls: missing,
  }
  return { ...all, ...parts } as unknown as Services
}
