import { reasonOf, TriviumError } from './errors.ts'
import { type Json, toJson } from './json.ts'
import type { SkillContext } from './skill.ts'

const ROUND = 60_000

/**
 * Makes a callback whose invocations `fn` answers, until `release` is called, the invocation that made it
 * is aborted, or the ref expires. A throw of `fn` is the error of the invocation. Invocations run at the
 * same time. `label` begins the ref and is what `allowed-tools` matches (`my-hook-*`).
 */
export async function createCallbackRef(
  ctx: Pick<SkillContext, 'services' | 'signal' | 'log' | 'call'>,
  fn: (args: Json) => unknown,
  options: { label?: string; timeout?: number; ttl?: number } = {},
): Promise<{ ref: string; release(): Promise<void> }> {
  const { callbacks } = ctx.services
  const { label = 'callback', timeout = 60_000, ttl = 86_400_000 } = options
  const { ref } = await callbacks.create({ label, timeout, ttl }, ctx.call.rootId)

  const answer = async (id: string, args: Json) => {
    try {
      await callbacks.respond({ ref, id, result: toJson(await fn(args)) })
    } catch (error) {
      await callbacks.respond({ ref, id, error: reasonOf(error) })
    }
  }
  const fail = (err: unknown) => {
    if (!isOver(err)) ctx.log.error({ err, ref }, 'a callback could not be answered')
  }
  const serve = async () => {
    while (!ctx.signal.aborted) {
      const next = await callbacks.wait({ ref, timeout: ROUND }, ctx.signal)
      if (next) answer(next.id, next.args).catch(fail)
    }
  }
  serve().catch(fail)
  return {
    ref,
    async release() {
      await callbacks.release({ ref })
    },
  }
}

function isOver(error: unknown): boolean {
  return (
    error instanceof TriviumError &&
    /^(callback_(released|not_found)|cancelled|skill_timeout)$/.test(error.code)
  )
}
