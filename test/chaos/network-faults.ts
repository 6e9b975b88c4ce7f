import type { Relay } from '../fixtures/relay.ts'
import type { Random } from './random.ts'

/** Faults of the connections to a server, by name. Each lasts up to `longest` ms. */
export function networkFaults(relay: () => Relay | Promise<Relay>, random: Random, longest = 3_000) {
  return {
    stall: async () => (await relay()).stall(random.between(0, longest)),
    cut: async () => (await relay()).cut(),
    'lose answers': async () => (await relay()).loseAnswers(random.between(0, longest)),
  } satisfies Record<string, () => Promise<void>>
}
