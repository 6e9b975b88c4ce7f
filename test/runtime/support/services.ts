import type { Services } from '../../../src/core/services.ts'

/**
 * The given services. All others throw when they are used, so that a test cannot pass by accident.
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
