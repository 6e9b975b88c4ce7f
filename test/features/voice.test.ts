import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isAudio, secondsOf } from '../../src/features/voice/audio.ts'
import { silence } from '../fixtures/speech-server.ts'

describe('a recording', () => {
  test('is known by its type, and by its name where the type says nothing', () => {
    const is = (name: string, type: string) => isAudio({ name, type })
    const yes = [
      is('x', 'audio/mp4'),
      is('x', 'Audio/ogg; codecs=opus'),
      is('memo.m4a', 'application/octet-stream'),
      is('memo.OGA', ''),
    ]
    const no = [
      is('x', 'video/mp4'),
      is('x.mp3', 'text/plain'),
      is('x', 'application/octet-stream'),
      is('x.mid', 'audio/midi'),
    ]
    assert.deepEqual([...new Set(yes), ...new Set(no)], [true, false])
  })

  test('says how long it is in WAV, Ogg and MP4, and in others nothing', () => {
    assert.equal(secondsOf(silence(3)), 3)
    const ogg = Buffer.alloc(100)
    ogg.write('OggS', 0, 'latin1')
    ogg.write('OggS', 60, 'latin1')
    ogg.writeBigInt64LE(48_000n * 7n, 66)
    assert.equal(secondsOf(ogg), 7)
    const mp4 = Buffer.alloc(100)
    mp4.write('ftypM4A ', 4, 'latin1')
    mp4.write('mvhd', 40, 'latin1')
    mp4.writeUInt32BE(1_000, 56)
    mp4.writeUInt32BE(12_500, 60)
    assert.equal(secondsOf(mp4), 12.5)
    assert.equal(secondsOf(Buffer.from(`ID3${'x'.repeat(100)}`)), undefined)
    assert.equal(secondsOf(Buffer.from('RIFF')), undefined)
    const cut = Buffer.alloc(60)
    cut.write('OggS', 0, 'latin1')
    cut.write('\u0001vorbis', 50, 'latin1')
    assert.equal(secondsOf(cut), undefined, 'Vorbis that ends before its rate')
  })
})
