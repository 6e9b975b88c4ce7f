import { basename } from 'node:path'
import type { Caller, InvokeOptions, ModelStep } from '../core/call.ts'
import { isJsonObject, type Json } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { ReplyPlace, Transport } from '../core/transport.ts'
import type { Dispatch, Target } from '../engine/dispatch-options.ts'
import type { Gateways } from '../engine/gateways.ts'
import { noGateway } from '../engine/receive.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import { defined } from '../lib/defined.ts'
import type { Access } from '../runtime/access.ts'
import type { SkillManager } from '../runtime/manager.ts'

/**
 * Makes the function that runs the target of a message's route: a skill, a BullMQ queue or a Bolt
 * app. A decision on an approval is handled first, and needs no target.
 */
export function createAnswering(parts: {
  gateways: Pick<Gateways, 'get' | 'names'>
  access: Pick<Access, 'callerOf'>
  manager: Pick<SkillManager, 'invoke'>
  queues: Pick<Queues, 'run'>
  /**
   * Handles a message that is an approval decision, and returns the answer; undefined for other
   * messages.
   */
  decide(message: Message, caller: Caller): Promise<string | undefined> | undefined
}): Target {
  const { gateways, access, manager, queues, decide } = parts
  const callBolt: Target = ({ message, route: { bolt = '', name, timeout }, signal }) => {
    const transport = gateways.get(message.gateway)
    // The gateway may be off briefly during a reload.
    if (!transport?.runListeners) throw noGateway(message.gateway, gateways.names())
    return transport.runListeners(bolt, { message, route: name, signal, timeout })
  }
  const runTarget = (dispatched: Dispatch, caller: Caller): Promise<unknown> => {
    const { message, route } = dispatched
    const transport = route.reply === 'none' ? undefined : gateways.get(message.gateway)
    if (route.queue !== undefined) {
      const show = (value: Json) => transport?.progress?.({ ...placeOf(message), progress: value })
      return queues.run(route.queue, { ...dispatched, progress: show })
    }
    if (route.bolt !== undefined) return callBolt(dispatched)
    const { skill = '' } = route
    const invoke = (more: Partial<InvokeOptions>) =>
      manager.invoke(skill, skillArgs(dispatched), { ...invokeOptions(dispatched), ...more, caller })
    const canShowProgress = transport?.working || transport?.stream
    return canShowProgress ? showProgress(transport, dispatched, invoke) : invoke({})
  }
  // Not async: that would add three promises to each message.
  return (dispatched) => {
    const { message } = dispatched
    if (dispatched.isAside) return callBolt(dispatched)
    const caller = access.callerOf(message)
    const decision = decide(message, caller)
    return decision
      ? decision.then((reply) => reply ?? runTarget(dispatched, caller))
      : runTarget(dispatched, caller)
  }
}

/** The target of a route, for logs. */
export function targetOf({ skill, queue, bolt }: Route): string {
  return skill ?? (bolt === undefined ? `queue:${queue}` : `bolt:${basename(bolt)}`)
}

/** Where a reply in progress is shown. */
function placeOf({ id: inReplyTo, conversation, data }: Message): ReplyPlace {
  const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
  return { inReplyTo, conversation, ...defined({ target }) }
}

/**
 * Runs a skill. Where the transport supports it, the conversation shows that the skill works, and
 * the answer of a model as it grows. The sender can cancel the run there.
 */
async function showProgress(
  transport: Pick<Transport, 'working' | 'stream'>,
  { message, signal }: Dispatch,
  invoke: (more: Pick<InvokeOptions, 'signal' | 'onModel'>) => Promise<unknown>,
): Promise<unknown> {
  const place = placeOf(message)
  const cancelled = new AbortController()
  const indicator = transport.working?.(message, () => cancelled.abort())
  let text = ''
  const onModel = ({ text: delta, tool, known }: ModelStep) => {
    if (delta === undefined) return indicator?.tool(tool)
    text += delta
    if (!known) transport.stream?.({ ...place, delta, text })
  }
  try {
    return await invoke({
      ...(indicator && { signal: AbortSignal.any([signal, cancelled.signal]) }),
      ...(transport.stream && { onModel }),
    })
  } catch (error) {
    if (signal.aborted || !cancelled.signal.aborted) throw error
    return `${text}\n\n_Stopped._`.trim()
  } finally {
    indicator?.end()
  }
}

/**
 * The arguments of a dispatched skill. `sessionId`: the conversation. With `while-busy: collect`, a
 * call gets the texts of all collected messages, and `messages`.
 */
function skillArgs({ message, collected, route }: Dispatch): Record<string, unknown> {
  const { from, subject, conversation } = message
  const messages = route['while-busy'] === 'collect' ? [...collected, message] : [message]
  return {
    ...route.args,
    text: messages.map(({ text }) => text).join('\n\n'),
    ...(route['while-busy'] === 'collect' && { messages }),
    from: from.address ?? from.id,
    ...defined({ subject }),
    message,
    route: route.name,
    sessionId: conversation,
  }
}

function invokeOptions(dispatched: Dispatch): InvokeOptions {
  const { message, route, sends, steer, signal } = dispatched
  const { headers } = message.data
  return {
    message,
    route: route.name,
    signal,
    timeout: route.timeout,
    trace: message.trace,
    rootId: message.id,
    sends,
    onRan: (ms) => {
      dispatched.skillMs = ms
    },
    ...(route.model !== undefined && { model: route.model }),
    ...(route.approval !== undefined && { approval: route.approval }),
    ...(steer && { steer }),
    ...(isJsonObject(headers) && { nonlocals: { request: { headers } } }),
  }
}
