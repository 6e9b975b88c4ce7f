import { z } from 'zod'
import { toJson } from '../../core/json.ts'
import type { Skill } from '../../core/skill.ts'

const REF = /^[a-z0-9][a-z0-9-]*-[0-9a-f]{8}$/

/** True for a name in the form of a callback ref: `{label}-{8 hex digits}`. */
export function isCallbackName(name: string): boolean {
  return REF.test(name)
}

/** Wraps a callback as a skill, so that refs are invoked like skills. */
export function callbackSkill(ref: string): Skill {
  return {
    name: ref,
    description: `Callback ${ref}`,
    args: z.json(),
    run: (ctx) => ctx.services.callbacks.invoke(ref, toJson(ctx.args), ctx.signal),
  }
}
