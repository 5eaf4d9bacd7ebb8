def main(args):
    return {"words": len(args["text"].split())}
