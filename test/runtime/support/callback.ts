import { z } from 'zod'
import { type Json, toJson } from '../../../src/core/json.ts'
import type { SkillContext } from '../../../src/core/skill.ts'

const made = z.object({ ref: z.string() })
const invocation = z.object({ id: z.string(), args: z.json() }).nullable()

/** A callback of an invocation that a test answers with a function, until it is released. */
export async function createCallbackRef(
  { services, call }: SkillContext,
  answer: (args: Json) => unknown,
  label = 'callback',
) {
  const { ref } = made.parse(
    await services.operation('callbacks', 'create')({ label, timeout: 60_000, ttl: 60_000 }, call),
  )
  const serve = async () => {
    for (;;) {
      const next = invocation.parse(
        await services.operation('callbacks', 'wait')({ ref, timeout: 60_000 }, call),
      )
      if (next)
        await services.operation('callbacks', 'respond')(
          { ref, id: next.id, result: toJson(answer(next.args)) },
          call,
        )
    }
  }
  // It ends by the release.
  serve().catch(() => undefined)
  return { ref, release: () => services.operation('callbacks', 'release')({ ref }, call) }
}
