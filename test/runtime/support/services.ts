import type { Services } from '../../../src/core/services.ts'

/**
 * Services of which a test gives the parts that it needs; each other part throws when it is touched, so
 * that a test cannot pass by accident.
 */
export function servicesWith(parts: Partial<Services>): Services {
  const throwing = (what: string) =>
    new Proxy(
      {},
      {
        get(_, name) {
          throw new Error(`this test has no service for ${what}.${String(name)}`)
        },
      },
    )
  const all = new Proxy(parts, { get: (given, name) => Reflect.get(given, name) ?? throwing(String(name)) })
  return all as Services
}
