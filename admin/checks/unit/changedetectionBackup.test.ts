import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { isZip, settingsOf } from "@/lib/changedetectionBackup";

type Files = Record<string, string>;

/** As most programs write it: deflated, with sizes behind the data and extra fields. */
function zip(files: Files): Blob {
  const parts: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [data, label, extra] = [deflateRawSync(text), Buffer.from(name), Buffer.from("UT\x01\x00x")];
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(8, 6); // the sizes follow the data
    local.writeUInt16LE(8, 8);
    local.writeUInt16LE(label.length, 26);
    local.writeUInt16LE(extra.length, 28);
    const follows = Buffer.alloc(16);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(8, 8);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt32LE(crc32(text), 16);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt32LE(Buffer.byteLength(text), 24);
    entry.writeUInt16LE(label.length, 28);
    entry.writeUInt16LE(7, 32);
    entry.writeUInt32LE(offset, 42);
    parts.push(local, label, extra, data, follows);
    entries.push(entry, label, Buffer.from("comment"));
    offset += 30 + label.length + extra.length + data.length + 16;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  end.writeUInt16LE(4, 20);
  return new Blob([new Uint8Array(Buffer.concat([...parts, directory, end, Buffer.from("made")]))]);
}

/** A reader that goes from one local header to the next. */
async function unzip(archive: Blob): Promise<Files> {
  const bytes = Buffer.from(await archive.arrayBuffer());
  const files: Files = {};
  for (let at = 0; bytes.readUInt32LE(at) === 0x04034b50; ) {
    const [size, name] = [bytes.readUInt32LE(at + 18), bytes.readUInt16LE(at + 26)];
    assert.equal(bytes.readUInt16LE(at + 6) & 8, 0);
    const start = at + 30 + name;
    const text = inflateRawSync(bytes.subarray(start, start + size));
    assert.equal(crc32(text), bytes.readUInt32LE(at + 14));
    files[bytes.subarray(at + 30, start).toString()] = text.toString();
    at = start + size;
  }
  return files;
}

const SETTINGS = { "changedetection.json": "{}", "a-1/watch.json": '{"url":"https://a.test/é"}', "b/tag.json": "{}" };

test("only the settings of a backup are sent", async () => {
  const large = zip({ "a-1/1.txt.br": "x".repeat(100_000), ...SETTINGS, "a-1/last-screenshot.png": "y", "watch.json.bak": "z" });
  assert.equal(await isZip(large), true);
  const small = await settingsOf(large);
  assert.deepEqual(await unzip(small), SETTINGS);
  assert.equal(await isZip(small), true);
});

test("an archive that is understood in no other way is sent as it is", async () => {
  const whole = zip(SETTINGS);
  const other = zip({ "holiday.jpg": "x" });
  const cut = zip({ ...SETTINGS, x: "" }).slice(0, -30);
  for (const each of [whole, other, cut, new Blob(["PK\x03\x04"]), new Blob([])]) assert.equal(await settingsOf(each), each);
  assert.equal(await isZip(new Blob(["https://a.test/"])), false);
});
