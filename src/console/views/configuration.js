import { call } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { Age, act, ask, Badge, Copy, Facts, Problem, span, useLoaded } from '../lib/parts.js'

/** What the daemon goes by: routes.yaml as it was read, and what became of the last reload. */
export function ConfigurationPage() {
  const { at = 0, ok } = now.value?.configuration ?? {}
  const { value, error, reload } = useLoaded(
    (signal) => call('GET', '/v1/configuration', undefined, signal),
    [at, ok],
  )
  const readAgain = async () => {
    const isYes = await ask({
      title: 'Read the configuration and the skills again?',
      body: 'What is right takes effect at once. If something is wrong, what is in force stays.',
      action: 'Reload',
    })
    if (!isYes) return
    await act(async () => {
      await call('POST', '/v1/reload', {})
      return 'The configuration is read again.'
    })
    reload()
  }
  return html`<section class="page" aria-labelledby="title">
    <header class="bar"><h1 id="title">Configuration</h1>
      <div class="buttons"><button changes type="button" onClick=${readAgain}>Reload …</button></div></header>
    ${error && html`<${Problem} error=${error} retry=${reload} />`}
    ${value && html`<${Shown} configuration=${value} />`}
  </section>`
}

function Shown({ configuration: { file, yaml, files, variables, inForce, warnings, reload } }) {
  return html`
    ${
      !reload.ok &&
      html`<section class="failed-reload" aria-label="The last reload failed"><p><${Badge} kind="bad">failed<//> The reload <${Age} at=${reload.at} /> ago. What was read <${Age} at=${reload.goodAt} /> ago stays in force.</p>
      <pre tabindex="0" aria-label="What is wrong">${reload.error}</pre></section>`
    }
    <div class="columns configuration">
      <div>
        <h2>As read</h2>
        <p class="dim">${file}; <${Age} at=${reload.goodAt} /> ago. Variables stand by their names; other secrets are masked.</p>
        ${files.map(
          (one) => html`${files.length > 1 && html`<h3>${one.file}</h3>`}
        <pre class=${files.length > 1 ? '' : 'tall'} tabindex="0" aria-label=${`${files.length > 1 ? one.file : 'routes.yaml'} as read`}>${one.yaml}</pre>`,
        )}
        <div class="buttons after"><${Copy} text=${yaml} /></div>
      </div>
      <div>
        ${warnings.length > 0 && html`<h2>Odd, but it works</h2><ul class="plain">${warnings.map((warning) => html`<li key=${warning.file + warning.line + warning.message}><${Badge} kind="warn">${placeOf(warning, files)}<//> ${warning.message}</li>`)}</ul>`}
        <h2>In force</h2>
        <${Facts} of=${factsOf(inForce)} />
        <h2>Variables</h2>
        ${variables.length === 0 && html`<p class="dim">The file names none.</p>`}
        <ul class="plain">${variables.map(
          ({ name, isSet, optional }) =>
            html`<li key=${name}><code>${name}</code> <${Badge} kind=${isSet ? 'good' : optional ? 'dim' : 'bad'}>${isSet ? 'set' : optional ? 'default' : 'not set'}<//></li>`,
        )}</ul>
      </div>
    </div>`
}

/** What a skill brings has no line. */
function placeOf({ file, line }, files) {
  if (!line) return 'mind'
  return files.length > 1 ? `${file}:${line}` : `line ${line}`
}

function factsOf({ dataDir, listen, controlListen, publicUrl, retention, grace, drainDelay }) {
  const { journal, deadLetters, gateways } = retention
  return {
    'data directory': dataDir,
    listens: address(listen),
    'control API': address(controlListen),
    'public address': publicUrl,
    'messages kept': `${span(journal.maxAge)}, at most ${journal.maxCount.toLocaleString('en')}`,
    ...Object.fromEntries(
      Object.entries(gateways).map(([name, { maxAge }]) => [`… of ${name}`, maxAge && span(maxAge)]),
    ),
    'dead letters kept': deadLetters.toLocaleString('en'),
    'grace at a stop': span(grace),
    'drain delay': drainDelay > 0 ? span(drainDelay) : undefined,
  }
}

function address({ host, port }) {
  return `${host}:${port}`
}
