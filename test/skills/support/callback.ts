import { type Json, toJson } from '../../../src/core/json.ts'
import type { SkillContext } from '../../../src/core/skill.ts'

/** A callback of an invocation that a test answers with a function, until it is released. */
export async function createCallbackRef(
  { services: { callbacks }, signal, call }: SkillContext,
  answer: (args: Json) => unknown,
  label = 'callback',
) {
  const { ref } = await callbacks.create({ label, timeout: 60_000, ttl: 60_000 }, call.rootId)
  const serve = async () => {
    for (;;) {
      const next = await callbacks.wait({ ref, timeout: 60_000 }, signal)
      if (next) await callbacks.respond({ ref, id: next.id, result: toJson(answer(next.args)) })
    }
  }
  // It ends by the release.
  serve().catch(() => undefined)
  return { ref, release: () => callbacks.release({ ref }) }
}
