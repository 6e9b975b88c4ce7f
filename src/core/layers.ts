import type { Middleware } from './skill.ts'

/** The built-in layers that a key in a skill's metadata switches on. */
export const LAYERS_BY_KEY = ['access', 'allowed-tools', 'approval', 'session', 'timeout'] as const
/** The built-in layers of every skill. They have no settings. */
const LAYERS_OF_EVERY_SKILL = ['audit', 'runs', 'trace'] as const

const BUILT_IN = [...LAYERS_BY_KEY, ...LAYERS_OF_EVERY_SKILL] as const

export type BuiltInLayer = Middleware & { name: (typeof BUILT_IN)[number] }

/**
 * Declares a layer of Trivium. Its name is in one of the lists above, so that no project can
 * replace it.
 */
export function defineBuiltInLayer(layer: BuiltInLayer): BuiltInLayer {
  return layer
}

/** Whether a layer of this name is built in, also if it is switched off, such as `trace`. */
export function isBuiltInLayer(name: string): boolean {
  return BUILT_IN.some((one) => one === name)
}
