"use client";

import { useState } from "react";
import { Badge } from "@/components/Badge";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { Checkbox, Field, Input } from "@/components/Form";
import { Empty, Loaded } from "@/components/States";
import { Head, Table, Td } from "@/components/Table";
import type { Schema } from "@/lib/api";
import { useAddress } from "@/lib/address";
import { counted } from "@/lib/format";
import type { Resource } from "@/lib/resource";

/** The settings in force. Their secrets never leave the server. */
export function Settings({ system }: { system: Resource<Schema<"SystemResponse">> }) {
  const [address, change] = useAddress();
  const [text, setText] = useState(address.get("q") ?? "");
  const [isOnlyChanged, setOnlyChanged] = useState(address.get("changed") === "yes");
  const show = (q: string, changed: boolean) => {
    setText(q);
    setOnlyChanged(changed);
    change({ q, changed: changed ? "yes" : null }, "replace");
  };
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ name, value, wants, isDefault }: Schema<"SettingResponse">) => {
    const all = `${name} ${value} ${wants}`.toLowerCase();
    return !(isOnlyChanged && isDefault) && words.every((word) => all.includes(word));
  };
  return (
    <Card title="Current settings">
      <div className="mb-4 flex flex-wrap items-end gap-4">
        <Field label="Search" className="w-full sm:w-72">
          <Input
            type="search"
            placeholder="storage budget"
            value={text}
            onChange={(event) => show(event.target.value, isOnlyChanged)}
          />
        </Field>
        <div className="flex min-h-9 items-center">
          <Checkbox
            label="Only settings that differ from the default"
            checked={isOnlyChanged}
            onChange={(event) => show(text, event.target.checked)}
          />
        </div>
      </div>
      <Loaded from={system} lines={20}>
        {({ settings }) => {
          const shown = settings.filter(fits);
          if (shown.length === 0) {
            return (
              <Empty title="No matching settings">
                <Button onClick={() => show("", false)}>Show all</Button>
              </Empty>
            );
          }
          return <SettingsTable settings={shown} total={settings.length} />;
        }}
      </Loaded>
    </Card>
  );
}

function SettingsTable({ settings, total }: { settings: Schema<"SettingResponse">[]; total: number }) {
  return (
    <>
      <Table label="Settings">
        <Head columns={{ Name: "text", Value: "text", "What it is": "text" }} />
        <tbody>
          {settings.map((setting) => (
            <tr key={setting.name}>
              <Td>
                <code className="text-sm whitespace-nowrap">{setting.name}</code>
              </Td>
              <Td className="min-w-40">
                <code className="mr-2 text-sm wrap-anywhere">{setting.value || "–"}</code>
                {!setting.isDefault && <Badge tone="busy">changed</Badge>}
              </Td>
              <Td className="min-w-56 text-soft wrap-anywhere">{setting.wants}</Td>
            </tr>
          ))}
        </tbody>
      </Table>
      <p className="mt-3 text-sm text-soft">
        {counted(settings.length, "setting")} of {total}. They are read from the environment at startup.
      </p>
    </>
  );
}
